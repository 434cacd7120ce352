import { builtInRuntimes } from '@berth/core/runtimes/built-in.ts'
import { RuntimeCatalog } from '@berth/core/runtimes/catalog.ts'
import { runtimeEntries } from '@berth/core/runtimes/foreign/foreign-entries.ts'
import { installsIn } from '@berth/core/runtimes/install-runtime.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'

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
