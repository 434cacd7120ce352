import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { isBundled, packagesDirectory } from '@berth/platform/kit/package-files.ts'
import { releaseVersion } from '@berth/platform/kit/version.ts'

// A start spends a fifth of its time on compiling modules that have not changed. The cache lies beside the packages, where
// only whoever may change them can write; without it the service starts as well.
enableCompileCache(join(packagesDirectory, '../node_modules/.cache/berth/compiled'))

// Before the bundle is loaded, so that stack traces name its sources.
if (isBundled) process.setSourceMapsEnabled(true)

export const { serve } = await import('./run-service.ts')

if (import.meta.main) {
  if (process.argv[2] === '--version') process.stdout.write(`${releaseVersion}\n`)
  else process.exitCode = await serve(process.env)
}
