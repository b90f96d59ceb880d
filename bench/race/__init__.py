"""How a race is run, whoever runs in it: the load, the processes of a heat, servers of others."""
