// SPDX-License-Identifier: MIT
#include "support/certificates.hpp"

#include "support/text_of.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace mortise::test {
namespace {

// A configuration of our own, because the system's decides what is a certificate authority. The
// shell's functions: `authority NAME`, `request NAME`, `sign AUTHORITY REQUEST NAME SECTION DAYS`.
constexpr const char* script = R"(
set -e
cat >openssl.cnf <<'END'
[req]
distinguished_name = subject
prompt = no
[subject]
CN = mortise test
[authority]
basicConstraints = critical,CA:TRUE
subjectKeyIdentifier = hash
[here]
subjectAltName = IP:127.0.0.1,IP:::1,DNS:localhost
[elsewhere]
subjectAltName = DNS:elsewhere.test
[wild]
subjectAltName = DNS:*.shop.test
[nameless]
basicConstraints = CA:FALSE
END
new="-config openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
authority() {
    openssl req -x509 $new -extensions authority -subj "/CN=mortise authority" -days 3 \
        -keyout $1.key -out $1.pem
}
request() { openssl req $new -subj "/CN=mortise $1" -keyout $1.key -out $1.csr; }
sign() {
    openssl x509 -req -in $2.csr -CA $1.pem -CAkey $1.key -extfile openssl.cnf -extensions $4 \
        -days $5 -out $3.pem
}
authority ca
authority other_ca
request server
request client
request other_client
sign ca server server here 3
sign ca client client here 3
sign other_ca other_client other_client here 3
sign ca server expired here -1
sign ca server elsewhere elsewhere 3
sign ca server wild wild 3
sign other_ca server other_server here 3
common_name() {
    openssl req -config openssl.cnf -new -key server.key -subj "/CN=$2" -out $1.csr
    sign ca $1 $1 $3 3
}
common_name named localhost nameless
common_name numbered 127.0.0.1 nameless
common_name misnamed localhost elsewhere
openssl pkey -in server.key -aes128 -passout pass:secret -out locked.key
)";

}  // namespace

Certificates::Certificates() {
  std::ofstream(file("make.sh")) << script;
  const std::string command =
      "cd '" + directory_.path() + "' && sh make.sh >make.log 2>&1 </dev/null";
  if (std::system(command.c_str()) == 0) return;
  throw std::runtime_error("openssl cannot make certificates: " + text_of(file("make.log")));
}

}  // namespace mortise::test
