import { join } from 'node:path'
import { ExtensionCatalog } from '../environments/extensions/catalog.ts'
import { Downloads } from '../environments/extensions/downloads.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import { openNetwork } from '../network/dial.ts'
import { inRanges, isPublicAddress } from '../network/public-address.ts'
import type { Config } from '../settings/config-file.ts'

/** Returns the operator's catalog of extensions, as this host has it. */
export function extensionCatalog(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { dataDir, config }: { readonly dataDir: string; readonly config: Pick<Config, 'egress' | 'extensions'> },
): ExtensionCatalog {
  const { catalog: sources } = config.extensions
  const isRefused = inRanges(config.egress.refuse)
  return new ExtensionCatalog({
    directory: join(dataDir, 'extensions'),
    sources,
    downloads: new Downloads({
      directory: join(dataDir, 'extension-downloads'),
      named: new Set(sources.flatMap(source => ('sha256' in source ? [source.sha256] : []))),
      network: openNetwork(),
      mayDial: address => isPublicAddress(address) && !isRefused(address),
      clock,
      log,
    }),
    spoolDirectory: dataDir,
    log,
  })
}
