import { ApplyFailed } from './apply-failed.ts'
import type { ApplyStep } from './apply-parts.ts'

/**
 * Tells of system packages that the sandbox was made without, and ends an apply whose packages could not be installed.
 * What the installation wrote was told meanwhile.
 */
export const packagesStep: ApplyStep = {
  name: 'packages',
  isDue: ({ packages }) => packages.length > 0,
  async run({ document, output, report }) {
    const { packages } = report
    output.begin()
    const written = await output.end(
      packages?.state === 'unavailable'
        ? [`without the packages ${document.packages.join(', ')}: ${packages.reason ?? ''}`]
        : [],
    )
    if (packages?.state === 'failed') throw new ApplyFailed('packages_failed', { output: written })
    return { output: written }
  },
}
