"""From text to values: tolerant literals, spans, fences. Knows nothing of protocols or of what a tool does."""
