import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.Arrays;

/** Times calls of pgjdbc's DatabaseMetaData: prints a line NAME MILLISECONDS for each. */
public class Metadata {
    interface Call {
        ResultSet run(DatabaseMetaData m) throws Exception;
    }

    static final int ROUNDS = 5;

    static void time(DatabaseMetaData m, String name, Call call) throws Exception {
        double[] took = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            long start = System.nanoTime();
            try (ResultSet rows = call.run(m)) {
                while (rows.next()) {
                }
            }
            took[i] = (System.nanoTime() - start) / 1e6;
        }
        Arrays.sort(took);
        System.out.printf("pgjdbc %s\t%.3f%n", name, took[ROUNDS / 2]);
    }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0])) {
            DatabaseMetaData m = c.getMetaData();
            String[] tables = {"TABLE"};
            time(m, "getTables", x -> x.getTables(null, "public", "%", tables));
            time(m, "getTables of one", x -> x.getTables(null, "public", "t101", null));
            time(m, "getTables of a name with _", x -> x.getTables(null, "public", "line_item", null));
            time(m, "getColumns", x -> x.getColumns(null, "public", "t101", "%"));
            time(m, "getColumns of a name with _", x -> x.getColumns(null, "public", "line_item", "%"));
            time(m, "getPrimaryKeys", x -> x.getPrimaryKeys(null, "public", "t101"));
            time(m, "getImportedKeys", x -> x.getImportedKeys(null, "public", "t101"));
            time(m, "getExportedKeys", x -> x.getExportedKeys(null, "public", "t100"));
            time(m, "getIndexInfo", x -> x.getIndexInfo(null, "public", "t101", false, true));
            time(m, "getTypeInfo", x -> x.getTypeInfo());
        }
    }
}
