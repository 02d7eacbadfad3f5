package soapstone.interop;

import java.io.IOException;
import java.nio.file.Path;
import java.security.Security;
import java.util.List;

import jakarta.xml.ws.soap.SOAPFaultException;

/**
 * Apache CXF as a peer program: services and clients that take everything from a WSDL with a policy attached.
 *
 * <pre>
 * serve --address URL --wsdl FILE|URL --service {ns}name --port {ns}name
 *       (--backend URL | --payloads FOLDER | --whole true) [--controller HOST:PORT] [--record FOLDER] [--lifetime SECONDS] SECURITY
 * hop --address URL --next URL --actor URI [--answers-actor URI] SECURITY
 * withdraw --address URL
 * call  --address URL --wsdl FILE|URL --service {ns}name --port {ns}name [--calls N] [--renew true]
 *       [--cancel true] [--generated true | --whole true --operation {ns}name] SECURITY REQUEST ANSWER
 * measure --address URL --wsdl FILE --service {ns}name --port {ns}name --payloads FOLDER
 *       --operation echo|strings|books|employees|sum|temperature [--count N] [--warm-up SECONDS]
 *       ([--clients N] [--requests N] [--first true] | --per-second N --seconds N) SECURITY
 * weigh … as measure
 * part … as measure
 * leave --address URL
 * versions
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 *
 * SECURITY: [--key ours.pem --cert ours.pem] [--peer peer.pem] [--ca ca.pem] [--user NAME --password WORD]
 *           [--signature URI] [--timeout SECONDS], and of clients and services those of {@link Tickets}
 * </pre>
 *
 * What is served stays served until it is withdrawn or the program ends. With a backend, it is passed on; with payloads
 * (recorded answers of the sample services), the samples are implemented here. Whole envelopes are sent as they are in the
 * file, and answered with the Body that they have.
 */
public final class CxfPeer {
    private CxfPeer() {
    }

    public static void main(String[] arguments) throws IOException {
        // SHA-1 signatures and RSA 1.5 are what the classic suites name; the policy of the service decides, not that
        // of the Java installation.
        Security.setProperty("jdk.xml.dsig.secureValidationPolicy", "");
        new Jobs(CxfPeer::run, SOAPFaultException.class::isInstance).main(arguments);
        // Servers have threads of their own.
        System.exit(0);
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "command");
        return switch (command) {
            case "serve" -> {
                Serving.publish(options);
                yield null;
            }
            case "hop" -> {
                Serving.pass(options);
                yield null;
            }
            case "withdraw" -> {
                Serving.withdraw(options);
                yield null;
            }
            case "call" -> Calling.call(options, Path.of(options.word(1, "request")), Path.of(options.word(2, "answer")));
            case "measure" -> Measuring.measure(options);
            case "weigh" -> Measuring.weigh(options);
            case "part" -> Measuring.part(options);
            case "leave" -> {
                Measuring.leave(options);
                yield null;
            }
            case "versions" -> Versions.line();
            default -> throw new IllegalArgumentException(
                "command: expected serve, hop, withdraw, call, measure, weigh, part, leave or versions, found " + command);
        };
    }
}
