"""Trees of counts, and what many of them say together: a tree, a forest of trees and kDB members, their pool."""
