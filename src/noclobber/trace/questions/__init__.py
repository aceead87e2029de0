"""What rules ask of a trace, by subject. Checks import from these modules; nothing here knows a rule or an output."""
