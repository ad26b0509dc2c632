"""N → θ: how counts become probabilities, and how a rare context leans on a simpler one; `theta` is the home of both."""
