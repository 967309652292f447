#!/usr/bin/env python3
"""Writes, for every function of include/rheo.h, a C function that calls it with arguments taken from the fuzzer's input.

    fuzz/calls.py include/rheo.h > build/fuzz/calls.h

No function is forgotten that way: a parameter that this script has no rule for is an error. What the calls share is in
abi.c, which includes the result.
"""

import re
import sys

# Which texts make sense for a parameter of that name; see `samples` in abi.c.
TEXTS = {
    "stream": "STREAM",
    "group": "GROUP",
    "name": "NAME",
    "url": "URL",
    "event_id": "EVENT_ID",
    "id": "EVENT_ID",
    "key": "KEY",
    "token": "TOKEN",
    "cursor": "CURSOR",
    "json": "JSON",
    "value": "VALUE",
    "reason": "REASON",
    "event_type": "NAME",
    "consumer_id": "NAME",
}
# Arrays come as a pointer and a length, from one function of abi.c each.
ARRAYS = {
    "const void *": "take_payload",
    "const uint32_t *": "take_partitions",
    "const rheo_bytes *": "take_texts",
    "const rheo_lease *const *": "take_leases",
}
NUMBERS = {
    "bool": "take() % 2",
    "int64_t": "take_number()",
    "uint64_t": "(uint64_t)take_number()",
    "uint32_t": "(uint32_t)take_number()",
    "size_t": "take_index(2)",
}
# What looks at all that it is given, and what is to be done when it is given no more.
CALLBACKS = {
    "rheo_telemetry_hook": "hear",
    "rheo_free_context": "forget",
    "rheo_handler": "handle",
}
# What a function fills for the caller; of a struct its last field, behind which there is only padding.
VALUES = {
    "bool": None,
    "int64_t": None,
    "uint32_t": None,
    "uint64_t": None,
    "rheo_position": "deduplicated",
    "rheo_partition_lag": "partition",
    "rheo_partition_info": "held_dead_letter",
}
# What waits, but for the fetches, whose options say for how long.
WAITS = re.compile(r"rheo_(producer|consumer)_(next|drain|close|wait)")


def parse(header: str):
    """The handles, the types that are integers, and the functions: (result, name, parameters)."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    handles = sorted(set(re.findall(r"typedef struct (rheo_\w+) \1;", text)))
    integers = re.findall(r"typedef int32_t (rheo_\w+);", text)
    functions = []
    for result, name, parameters in re.findall(r"^(\w[\w ]*?[ *]+)(rheo_\w+)\(([^;{]*?)\);", text, re.M | re.S):
        split = [re.fullmatch(r"(.+?[ *])(\w+)", " ".join(one.split())) for one in parameters.split(",")]
        functions.append((result.strip(), name, [(one[1].strip(), one[2]) for one in split if one]))
    return handles, integers, functions


def short(handle: str) -> str:
    return handle.removeprefix("rheo_")


def is_free(name: str, handles) -> bool:
    return name.endswith("_free") and name.removesuffix("_free") in handles


def write_call(result: str, name: str, parameters, handles, integers) -> list[str]:
    """One function of C that makes the call: what comes before it, the call, and what is checked after it."""
    before, arguments, after = [], [], []
    names = {parameter for _, parameter in parameters}
    skip = False
    for kind, parameter in parameters:
        arguments.append(parameter)
        if skip:  # the length of the one before
            skip = False
            continue
        bare = kind.removeprefix("const ").rstrip("* ")
        if kind == "rheo_error **" and parameter == "error":
            before.append("rheo_error *failure = impossible, **error = take() % 8 ? &failure : NULL;")
        elif kind == "const char *":
            # With a value, a key is the name of an option.
            texts = "OPTION" if parameter == "key" and "value" in names else TEXTS[parameter]
            before.append(f"size_t {parameter}_len;")
            before.append(f"const char *{parameter} = take_text({texts}, &{parameter}_len);")
            skip = True
        elif kind in ARRAYS:
            before.append(f"size_t {parameter}_len;")
            before.append(f"{kind}{parameter} = {ARRAYS[kind]}(&{parameter}_len);")
            skip = True
        elif kind in (f"{bare} **", f"const {bare} **") and bare in handles:
            # What is lent, by an iterator, is looked at; what is given is kept.
            keep = "look_at" if kind.startswith("const") else "keep"
            made = f"made_{parameter}"
            before.append(f"{kind[:-1]}{made} = impossible, **{parameter} = take() % 16 ? &{made} : NULL;")
            after.append(f"if ({parameter} != NULL) {{ check_made(status, {made}); {keep}_{short(bare)}({made}); }}")
        elif kind in (f"{bare} *", f"const {bare} *") and bare in handles:
            before.append(f"{bare} *{parameter} = take_{short(bare)}();")
        elif kind == "const int64_t *":
            before.append(f"int64_t given_{parameter} = take_number();")
            before.append(f"const int64_t *{parameter} = take() % 2 ? &given_{parameter} : NULL;")
        elif kind.endswith("*") and bare in VALUES:
            made = f"made_{parameter}"
            before.append(f"{bare} {made}, *{parameter} = take() % 8 ? &{made} : NULL;")
            before.append(f"memset(&{made}, 0x5a, sizeof {made});")
            if result == "rheo_status":
                last = VALUES[bare]
                size = f"offsetof({bare}, {last}) + sizeof {made}.{last}" if last else f"sizeof {made}"
                after.append(f"if ({parameter} != NULL) check_zero(status, {parameter}, {size});")
        elif kind in NUMBERS:
            before.append(f"{kind} {parameter} = {NUMBERS[kind]};")
        elif kind in integers:
            before.append(f"{kind} {parameter} = take_constant();")
        elif kind in CALLBACKS:
            before.append(f"{kind} {parameter} = take() % 4 ? {CALLBACKS[kind]} : NULL;")
        elif kind == "void *":
            before.append(f"{kind}{parameter} = take() % 4 ? &heard : NULL;")
        else:
            sys.exit(f"{name}: fuzz/calls.py has no rule for the parameter `{kind} {parameter}`; give it one")

    if name in ("rheo_instance_fetch", "rheo_group_fetch"):
        before.append("never_wait(options);")
    if name == "rheo_stream_options_set_partition_count":
        before.append("partition_count = at_most_64(partition_count);")
    if name == "rheo_consumer_options_set_concurrency":
        before.append("concurrency = at_most_4(concurrency);")
    if WAITS.fullmatch(name):
        before.append("timeout_ms = at_most_a_moment(timeout_ms);")
    call = f"{name}({', '.join(arguments)})"
    bare = result.removeprefix("const ").rstrip("* ")
    if is_free(name, handles):
        # Only what the caller owns is freed, and then forgotten.
        body = [f"{name}(give_up_{short(name.removesuffix('_free'))}());"]
    elif result == "rheo_status":
        error = "error" if parameters[-1] == ("rheo_error **", "error") else "NULL"
        body = [*before, f"rheo_status status = {call};", f"check_status(status, {error});", *after]
    elif result == "rheo_bytes":
        body = [*before, f"look_at_bytes({call});"]
    elif result == "const char *":
        body = [*before, f"look_at_text({call});"]
    elif bare in handles:
        body = [*before, f"look_at_{short(bare)}({call});"]
    else:
        body = [*before, f"(void){call};"]
    return [f"static void call_{name}(void) {{", *(f"    {line}" for line in body), "}", ""]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        handles, integers, functions = parse(file.read())
    lines = [f"/* Written by fuzz/calls.py: {len(functions)} functions. */", ""]
    for function in functions:
        lines += write_call(*function, handles, integers)
    lines.append("static const struct { const char *name; void (*call)(void); } calls[] = {")
    lines += [f'    {{"{name}", call_{name}}},' for _, name, _ in functions]
    lines.append("};")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
