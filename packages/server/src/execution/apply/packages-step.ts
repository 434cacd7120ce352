import { ApplyFailed } from './apply-failed.ts'
import type { ApplyStep } from './apply-parts.ts'

/**
 * Tells how the system packages were installed that the sandbox was made with, and ends an apply whose packages could
 * not be.
 */
export const packagesStep: ApplyStep = {
  name: 'packages',
  isDue: ({ packages }) => packages.length > 0,
  async run({ document, output, report }) {
    const { packages, packagesOutput = '' } = report
    output.begin()
    output.push(packagesOutput)
    const told = await output.end(
      packages?.state === 'unavailable'
        ? [`without the packages ${document.packages.join(', ')}: ${packages.reason ?? ''}`]
        : [],
    )
    if (packages?.state === 'failed') throw new ApplyFailed('packages_failed', { output: told })
    return { output: told, packagesOutput: '' }
  },
}
