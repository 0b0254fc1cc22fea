import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/** One OpenSearch node for tests, on loopback: {@code java OneNode HOME HTTP_PORT}. It ends in order on SIGTERM. */
public class OneNode extends Node {
    /** What a distribution loads from its folder "modules", as far as our indexes use it. */
    private static final List<String> MODULES = List.of(
        "org.opensearch.transport.Netty4ModulePlugin",
        "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
        "org.opensearch.painless.PainlessModulePlugin",
        "org.opensearch.index.reindex.ReindexModulePlugin");

    private OneNode(Settings settings, Path config) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "one-node"),
            MODULES.stream().map(OneNode::onClassPath).toList(),
            false);
    }

    private static PluginInfo onClassPath(String name) {
        return new PluginInfo(name, "on the class path", "NA", Version.CURRENT, "21", name, List.of(), false);
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Settings settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", home.resolve("data"))
            .put("cluster.name", "recallmesh-tests")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[1])
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            // A disk that is nearly full would otherwise make every index read-only.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        Node node = new OneNode(settings, Files.createDirectories(home.resolve("config")));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();
        Thread.currentThread().join();
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (java.io.IOException error) {
            error.printStackTrace();
        }
    }
}
