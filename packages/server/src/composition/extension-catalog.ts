import { join } from 'node:path'
import { ExtensionCatalog } from '../environments/extensions/catalog.ts'
import { Downloads } from '../environments/extensions/downloads.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import { openNetwork } from '../network/dial.ts'
import { dialRule } from '../network/dial-rule.ts'
import { inRanges } from '../network/public-address.ts'
import type { Config } from '../settings/config-file.ts'

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
