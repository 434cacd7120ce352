/** Returns the anchor that forges make for a heading, so that links lead to the same place there and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

/** Returns anchors for the headings of one page: a second heading of the same words gets `-1`, a third `-2`. */
export function anchorsOfPage(): (heading: string) => string {
  const seen = new Map<string, number>()
  return heading => {
    const anchor = anchorOf(heading)
    const before = seen.get(anchor) ?? 0
    seen.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  }
}
