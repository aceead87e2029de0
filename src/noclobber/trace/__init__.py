"""From source text to events: lowering, values, records, the walk."""
