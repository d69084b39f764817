"""How long what is missing will take, and what its jobs are to ask for; nothing that is collected depends on it."""
