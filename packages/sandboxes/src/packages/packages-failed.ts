/** Packages cannot be installed. The message is what apt wrote, for the people who named them. */
export class PackagesFailed extends Error {
  override readonly name = 'PackagesFailed'
}
