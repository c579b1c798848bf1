"""Search for inputs on which a regular expression or a parser takes more than proportional time."""
