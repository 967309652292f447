// What somebody writes who has the installed library and nothing else.

#include <exception>
#include <iostream>
#include <rheo.hpp>

int main() try {
    rheo::instance db = rheo::open("memory:");
    db.create_stream("orders");
    db.create_group("orders", "billing");
    db.append("orders", rheo::bytes("from C++"));
    for (rheo::lease_view lease : db.fetch("orders", "billing")) {
        db.ack(lease);
        std::cout << rheo::version() << ": " << lease.payload() << '\n';
    }
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
