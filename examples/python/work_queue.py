"""A work queue: acks, retries with a delay, dead letters, and a second chance for these.

The clock is a manual one, so that the delays take no time; leave `clock=` out and the program waits them out.
"""

# prints: sent the mail to ada
# prints: bob, attempt 1: the mailbox is full
# prints: eve: "not an address" is no address
# prints: sent the mail to bob
# prints: dead letter: {'name': 'eve', 'to': 'not an address'}, attempt 1: no address
# prints: sent the mail to eve
# prints: nothing is left: lag 0

import rheo

STREAM, GROUP = "mails", "sender"


class MailboxFullError(Exception):
    """What passes by itself."""


def send(mail: dict[str, str], attempt: int) -> None:
    """Pretend to send a mail: bob's mailbox is full at first."""
    if "@" not in mail["to"]:
        raise ValueError(f'"{mail["to"]}" is no address')
    if mail["name"] == "bob" and attempt == 1:
        raise MailboxFullError("the mailbox is full")
    print("sent the mail to", mail["name"])


def work(sender: rheo.Group) -> None:
    """Work until there is nothing to do now. A worker that never ends says `wait_ms` and loops for ever."""
    while batch := sender.fetch(limit=10, lease_ms=30_000):
        for lease in batch:
            mail = lease.event.payload
            try:
                send(mail, lease.attempt)
            except MailboxFullError as error:
                print(f"{mail['name']}, attempt {lease.attempt}: {error}")
                lease.retry(str(error), delay_ms=60_000)
            except ValueError as error:
                # Trying again would not help.
                print(f"{mail['name']}: {error}")
                lease.reject("no address")
            else:
                lease.ack()


def main() -> None:
    """Send three mails."""
    with rheo.open("memory:", clock="manual") as db:
        db.create_stream(STREAM)
        db.create_group(STREAM, GROUP, max_attempts=5)
        for name, to in [("ada", "ada@example.org"), ("bob", "bob@example.org"), ("eve", "not an address")]:
            db.append(STREAM, {"name": name, "to": to}, type="mail", id=f"mail-to-{name}")
        sender = db.group(STREAM, GROUP)
        work(sender)
        db.advance_clock(60_000)
        work(sender)
        for letter in sender.dead_letters():
            print(f"dead letter: {letter.event.payload}, attempt {letter.attempt}: {letter.reason}")
            # The event cannot be changed. What is right is a new one; the dead letter has had its use.
            db.append(STREAM, letter.event.payload | {"to": "eve@example.org"}, type="mail")
            sender.discard_dead_letters([letter.event_id])
        work(sender)
        print("nothing is left: lag", sender.lag().lag)


if __name__ == "__main__":
    main()
