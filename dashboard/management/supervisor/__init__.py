"""Runs the site's parts as child processes of one `manage.py up`, and leaves none behind however it ends.

`claim` holds the state folder, `ports` and `prepare` set the stage, `plan` lists the parts, `child` is one
running part, `keeper` keeps them all alive, `console` prints their output.
"""
