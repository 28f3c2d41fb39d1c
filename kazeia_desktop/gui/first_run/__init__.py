"""The first steps: models, microphone, loudspeaker, a first exchange."""
