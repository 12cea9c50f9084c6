"""Work on several processes, of this machine or of a Ray cluster.

    processes      jobs on processes of this machine
    ray_cluster    the connection to Ray, and jobs as its tasks, repeated when their process is lost
    jobs           jobs on either of them, with the same results

Nothing here knows what the jobs are.
"""
