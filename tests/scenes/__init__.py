"""States of the program that are hard to show well: photographed, and searched for what is cut off."""
