# SPDX-License-Identifier: GPL-3.0-or-later
"""Has frames rendered by the user's engines: this computer's `openjd`, Slurm, Flamenco, AWS Deadline Cloud.

`targets` reads what a person has set up, `prepare` packs the scene and measures a frame, `bundle` writes the job as
plain files (Open Job Description), an adapter hands it to its engine (`engines`), and `follow` collects the frames.
"""
