TAKEN = {}
