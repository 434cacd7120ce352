import { beforeEach } from 'vitest'

/**
 * For a suite whose cases each begin where the one before has ended: behind a case that failed the others are skipped, so the
 * failure is told once.
 */
export function oneWay(): void {
  let failed: string | undefined
  beforeEach(({ skip, task, onTestFailed }) => {
    skip(failed !== undefined, `needs: ${failed}`)
    onTestFailed(() => {
      failed ??= task.name
    })
  })
}
