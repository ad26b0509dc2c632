"""Trees of counts: questions that stay, rows by class in every node, a posterior that backs off from root to leaf."""
