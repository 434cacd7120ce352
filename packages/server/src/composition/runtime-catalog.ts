import { builtInRuntimes } from '../runtimes/built-in.ts'
import { RuntimeCatalog } from '../runtimes/catalog.ts'
import { runtimeEntries } from '../runtimes/foreign/foreign-entries.ts'
import { installsIn } from '../runtimes/install-runtime.ts'
import { insidePaths } from '../sandboxes/inside-paths.ts'
import type { Settings } from '../settings/settings.ts'

/** Returns the built-in runtimes and those of the configuration file. */
export function runtimeCatalog({ config, dataDir }: Settings): RuntimeCatalog {
  const { providers, runtimes } = config
  const entries = runtimeEntries(runtimes, {
    speaks: format => providers.some(({ wire }) => wire.some(spoken => spoken === format)),
    installs: installsIn(dataDir),
    inside: insidePaths.runtime,
  })
  return new RuntimeCatalog([...builtInRuntimes(insidePaths, { hasModels: providers.length > 0 }), ...entries])
}
