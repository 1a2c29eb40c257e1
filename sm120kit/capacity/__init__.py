"""SGLang's memory model per version, and what follows from it: how many requests a server will really serve.

Everything is computed in bytes. SGLang computes in GiB as floating point; dividing by 2^30 loses nothing there, so the
results are the same to the last token.
"""
