"""What :mod:`patchwork_env.integrations.minari` is made of.

plan, games   what is to be played, and playing it block by block
episodes      what each player saw and did
places        the ids of datasets, and their folders
storage       their files
environment   the environment that a dataset names
recording     all of this together
"""
