package soapstone.interop;

import java.util.List;

/**
 * Apache jUDDI: its registry on a loopback port until its input ends, or one request of its client.
 *
 * <pre>
 * serve --port N
 * publish --config uddi.xml --service NAME --access-point URL --wsdl URL     prints the key of the business
 * find --config uddi.xml --service NAME [--approximate true]                 prints access point and WSDL, a line each
 * delete --config uddi.xml --business KEY
 * </pre>
 *
 * Exit status: 0 done, 1 anything else.
 */
public final class JuddiPeer {
    private JuddiPeer() {
    }

    public static void main(String[] arguments) {
        // The WSDL in jUDDI's own library has a schema with a document type.
        System.setProperty("javax.xml.accessExternalDTD", "file,jar:file");
        Options options = new Options(List.of(arguments));
        int status = 0;
        try {
            if (options.word(0, "what to do").equals("serve")) {
                JuddiServer.serve(options.required("port"));
            } else {
                new JuddiClient(options.required("config")).run(options);
            }
        } catch (Exception e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                System.err.println(cause);
            }
            status = 1;
        }
        // Threads of libraries live on.
        System.exit(status);
    }
}
