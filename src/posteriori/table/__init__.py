"""Raw rows → coded columns, labels and weights: the border where input is checked, once."""
