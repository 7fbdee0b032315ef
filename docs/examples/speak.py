#!/usr/bin/env python3
"""Speak a text and keep it: speak.py [text] [file.wav] [url]    (pip install websockets)"""
import json
import sys
import wave

from websockets.sync.client import connect

given = dict(enumerate(sys.argv))
text, path = given.get(1, "Hello from Python."), given.get(2, "speak.wav")
url = given.get(3, "ws://127.0.0.1:8080/v1/ws")

pcm = bytearray()
with connect(url) as socket:
    socket.send(json.dumps({"type": "start", "format": "pcm_s16le", "pace": "fast", "text": text, "final": True}))
    for message in socket:
        if isinstance(message, bytes):
            pcm += message[16:]  # behind the header: 16-bit samples
            continue
        event = json.loads(message)
        if event["type"] == "started":
            rate = event["format"]["sample_rate"]
        elif event["type"] == "done":
            print(json.dumps(event))
            break
        elif event["type"] == "error":
            sys.exit(f"{event['code']}: {event['message']}")
    else:
        sys.exit("the server closed the socket")

with wave.open(path, "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(rate)
    file.writeframes(pcm)
