/** Finds the package of triggers; null in a build that left it out (docs/internals/folders.md#leave-a-package-out). */
export const findTriggers = () => import('@berth/triggers/parts.ts').catch(nullIfLeftOut)

/** Finds the package of Kubernetes; null in a build that left it out. */
export const findKubernetes = () => import('@berth/kubernetes/parts.ts').catch(nullIfLeftOut)

export type Triggers = NonNullable<Awaited<ReturnType<typeof findTriggers>>>

/** @throws every other failure, such as that of a package which is there and lacks one that it needs */
function nullIfLeftOut(error: unknown): null {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
  if (isMissing && /^Cannot find package '@berth\/(?:triggers|kubernetes)'/.test(error.message)) return null
  throw error
}
