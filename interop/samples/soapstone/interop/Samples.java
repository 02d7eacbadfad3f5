package soapstone.interop;

import java.math.BigDecimal;
import java.util.List;
import java.util.function.Supplier;

import jakarta.jws.WebService;
import jakarta.xml.ws.Holder;

import soapstone.samples.books.Book;
import soapstone.samples.books.Books;
import soapstone.samples.echo.Echo;
import soapstone.samples.employees.Employee;
import soapstone.samples.employees.Employees;
import soapstone.samples.strings.EchoStringArray;
import soapstone.samples.strings.StringList;
import soapstone.samples.sum.Sum;
import soapstone.samples.temperature.Temperature;

/**
 * The sample services, implemented on the classes that are generated from their contract, with all data in memory.
 *
 * <p>The implementations are public, since Metro calls them by reflection.
 */
final class Samples {
    /** The query that asks for the one record of a study. */
    static final String ONE_RECORD = "?records=one";

    private Samples() {
    }

    /**
     * The implementation of a service, by the local name of its {@code wsdl:service}; {@code controller} is what a temperature
     * is read from, {@code query} that of the address by which the running request came, or null.
     */
    static Object named(String service, Payloads payloads, String controller, Supplier<String> query) {
        return switch (service) {
            case "BooksService" -> new InMemoryBooks(payloads);
            case "EchoService" -> new Echoing();
            case "EchoStringArrayService" -> new EchoingStrings();
            case "EmployeesService" -> new AllEmployees(payloads, query);
            case "SumService" -> new Adding();
            case "TemperatureService" -> new Measured(Sensor.at(controller));
            default -> throw new IllegalArgumentException("service: expected one of the samples, found " + service);
        };
    }

    @WebService(endpointInterface = "soapstone.samples.books.Books")
    public static final class InMemoryBooks implements Books {
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
    public static final class Echoing implements Echo {
        @Override
        public void echo(Holder<String> text) {
            // What came in goes out.
        }
    }

    @WebService(endpointInterface = "soapstone.samples.strings.EchoStringArray")
    public static final class EchoingStrings implements EchoStringArray {
        @Override
        public StringList echoStringArray(StringList strings) {
            return strings;
        }
    }

    @WebService(endpointInterface = "soapstone.samples.employees.Employees")
    public static final class AllEmployees implements Employees {
        private final Payloads payloads;
        private final Supplier<String> query;

        AllEmployees(Payloads payloads, Supplier<String> query) {
            this.payloads = payloads;
            this.query = query;
        }

        @Override
        public List<Employee> employeeDetails() {
            String asked = query.get();
            return asked != null && ONE_RECORD.endsWith(asked) ? payloads.employee() : payloads.employees();
        }
    }

    @WebService(endpointInterface = "soapstone.samples.sum.Sum")
    public static final class Adding implements Sum {
        @Override
        public long sum(int a, int b) {
            return (long) a + b;
        }
    }

    @WebService(endpointInterface = "soapstone.samples.temperature.Temperature")
    public static final class Measured implements Temperature {
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
