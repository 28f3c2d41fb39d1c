"""What Kazeia takes: times of turns, memory and processor, the log, and a report without a spoken word."""
