"""Work on several processes, of this machine or of a Ray cluster.

    processes      jobs on processes of this machine
    ray_cluster    the connection to Ray, and jobs as its tasks
    jobs           jobs on either of them, with the same results
    worker_pool    jobs on workers that keep data from one job to the next, may come and go, and are replaced
                   when they are lost
    ray_workers    such workers as Ray actors

Nothing here knows what the jobs are.
"""
