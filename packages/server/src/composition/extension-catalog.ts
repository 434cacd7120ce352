import { join } from 'node:path'
import { ExtensionCatalog } from '@berth/core/environments/extensions/catalog.ts'
import { Downloads } from '@berth/core/environments/extensions/downloads.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { dialRule } from '@berth/platform/network/dial-rule.ts'
import { inRanges } from '@berth/platform/network/public-address.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'

/** Returns the operator's catalog of extensions, as this host has it. */
export function extensionCatalog(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { dataDir, config }: { readonly dataDir: string; readonly config: Pick<Config, 'egress' | 'extensions'> },
): ExtensionCatalog {
  const { catalog: sources } = config.extensions
  return new ExtensionCatalog({
    directory: join(dataDir, 'extensions'),
    sources,
    downloads: new Downloads({
      directory: join(dataDir, 'extension-downloads'),
      named: new Set(sources.flatMap(source => ('sha256' in source ? [source.sha256] : []))),
      network: openNetwork(),
      mayDial: dialRule(inRanges(config.egress.refuse)),
      clock,
      log,
    }),
    spoolDirectory: dataDir,
    log,
  })
}
