package soapstone.interop;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

import javax.xml.namespace.QName;
import javax.xml.transform.stream.StreamSource;

import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import jakarta.xml.ws.Endpoint;
import jakarta.xml.ws.soap.SOAPBinding;

/** Services whose WSDL demands security, on the HTTP server of the JDK. */
final class Serving {
    private static final Map<Integer, HttpServer> SERVERS = new HashMap<>();

    private Serving() {
    }

    static void publish(Options options) throws Exception {
        URI address = URI.create(options.required("address"));
        HttpContext context = server(address, options).createContext(address.getPath());
        if (options.optional("record") != null) {
            context.getFilters().add(new Recorder(Path.of(options.required("record"))));
        }
        boolean soap12 = options.required("port").contains("Soap12");
        Endpoint endpoint =
            Endpoint.create(soap12 ? SOAPBinding.SOAP12HTTP_BINDING : SOAPBinding.SOAP11HTTP_BINDING, new Echoing());
        endpoint.setMetadata(List.of(new StreamSource(Path.of(options.required("wsdl")).toUri().toString())));
        endpoint.setProperties(Map.of(
            Endpoint.WSDL_SERVICE, QName.valueOf(options.required("service")),
            Endpoint.WSDL_PORT, QName.valueOf(options.required("port"))));
        endpoint.publish(context);
    }

    /** The server of a port, which listens from now on. */
    private static HttpServer server(URI address, Options options) throws Exception {
        HttpServer server = SERVERS.get(address.getPort());
        if (server == null) {
            InetSocketAddress at = new InetSocketAddress(address.getHost(), address.getPort());
            if (address.getScheme().equals("https")) {
                HttpsServer secure = HttpsServer.create(at, 0);
                secure.setHttpsConfigurator(new HttpsConfigurator(Tls.with(options.required("tls"))));
                server = secure;
            } else {
                server = HttpServer.create(at, 0);
            }
            server.setExecutor(Executors.newCachedThreadPool());
            server.start();
            SERVERS.put(address.getPort(), server);
        }
        return server;
    }
}
