package driver;

import java.nio.file.Path;
import java.util.List;

/** A client library and how to use it. */
public interface Sdk {
    /** Its name in the catalogue. */
    String name();

    /** A class of its jar, which has the version in its name. */
    Class<?> from();

    List<String> protocols();

    /** Whether it keeps a QoS 2 message that the broker sends again from the application. */
    boolean dedupes();

    /** What it does not show or do, in the contract's words. */
    List<String> cannot();

    Session open(Process process) throws Exception;

    /** The version of the jar that was loaded: the last part of its name. */
    default String version() {
        try {
            var jar = Path.of(from().getProtectionDomain().getCodeSource().getLocation().toURI()).getFileName();
            return jar.toString().replaceFirst("^.*-(?=[0-9])", "").replaceFirst("\\.jar$", "");
        } catch (Exception e) {
            return "unknown";
        }
    }
}
