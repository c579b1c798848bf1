"""Runs the processes of the site as children of one `manage.py up`, and leaves none behind when it ends.

`claim` locks the state folder, `ports` and `prepare` do the preparation, `plan` lists the parts, `child` is one running
part, `keeper` keeps all of them running, `console` prints their output.
"""
