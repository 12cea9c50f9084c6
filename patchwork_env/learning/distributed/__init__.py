"""Work on several processes: of this machine, or of a cluster of Ray.

    processes      jobs on processes of this machine
    ray_cluster    the connection to Ray, and jobs as its tasks
    jobs           jobs on either: who does them changes no result
    worker_pool    jobs on workers that keep something between them, are replaced when they are lost, and may
                   come and go
    ray_workers    such workers as actors of Ray

Nothing here knows what the jobs are.
"""
