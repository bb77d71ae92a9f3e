"""From what a model sent to what a tool takes: names, types, spoken values, and words that teach when it cannot be."""
