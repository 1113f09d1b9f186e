"""The polish pivot as a wizard: a screen with five steps, and one about a pivot under way."""
