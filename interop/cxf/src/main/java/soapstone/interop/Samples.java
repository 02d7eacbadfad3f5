package soapstone.interop;

import java.math.BigDecimal;
import java.util.List;

import jakarta.jws.WebService;
import jakarta.xml.ws.Holder;

import org.apache.cxf.message.Message;
import org.apache.cxf.phase.PhaseInterceptorChain;

import soapstone.samples.books.Book;
import soapstone.samples.books.Books;
import soapstone.samples.echo.Echo;
import soapstone.samples.employees.Employee;
import soapstone.samples.employees.Employees;
import soapstone.samples.strings.EchoStringArray;
import soapstone.samples.strings.StringList;
import soapstone.samples.sum.Sum;
import soapstone.samples.temperature.Temperature;

/** The sample services, implemented on the classes that CXF generates from their contract, with all data in memory. */
final class Samples {
    /** The query that asks for the one record of a study. */
    static final String ONE_RECORD = "?records=one";

    private Samples() {
    }

    /**
     * The implementation of a service, by the local name of its {@code wsdl:service}; {@code controller} is what a temperature
     * is read from.
     */
    static Object named(String service, Payloads payloads, String controller) {
        return switch (service) {
            case "BooksService" -> new InMemoryBooks(payloads);
            case "EchoService" -> new Echoing();
            case "EchoStringArrayService" -> new EchoingStrings();
            case "EmployeesService" -> new AllEmployees(payloads);
            case "SumService" -> new Adding();
            case "TemperatureService" -> new Measured(Sensor.at(controller));
            default -> throw new IllegalArgumentException("service: expected one of the samples, found " + service);
        };
    }

    @WebService(endpointInterface = "soapstone.samples.books.Books")
    private static final class InMemoryBooks implements Books {
        private final Payloads payloads;

        InMemoryBooks(Payloads payloads) {
            this.payloads = payloads;
        }

        @Override
        public List<Book> getBooks(int n) {
            return payloads.books(n);
        }
    }

    @WebService(endpointInterface = "soapstone.samples.echo.Echo")
    private static final class Echoing implements Echo {
        @Override
        public void echo(Holder<String> text) {
            // What came in goes out.
        }
    }

    @WebService(endpointInterface = "soapstone.samples.strings.EchoStringArray")
    private static final class EchoingStrings implements EchoStringArray {
        @Override
        public StringList echoStringArray(StringList strings) {
            return strings;
        }
    }

    @WebService(endpointInterface = "soapstone.samples.employees.Employees")
    private static final class AllEmployees implements Employees {
        private final Payloads payloads;

        AllEmployees(Payloads payloads) {
            this.payloads = payloads;
        }

        @Override
        public List<Employee> employeeDetails() {
            Object query = PhaseInterceptorChain.getCurrentMessage().get(Message.QUERY_STRING);
            return query != null && ONE_RECORD.endsWith(query.toString()) ? payloads.employee() : payloads.employees();
        }
    }

    @WebService(endpointInterface = "soapstone.samples.sum.Sum")
    private static final class Adding implements Sum {
        @Override
        public long sum(int a, int b) {
            return (long) a + b;
        }
    }

    @WebService(endpointInterface = "soapstone.samples.temperature.Temperature")
    private static final class Measured implements Temperature {
        private final Sensor sensor;

        Measured(Sensor sensor) {
            this.sensor = sensor;
        }

        @Override
        public BigDecimal getTemperature() {
            return BigDecimal.valueOf(sensor.hundredths(), 2);
        }
    }
}
