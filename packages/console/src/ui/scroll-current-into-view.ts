/** Scrolls a row of links so far that the current one is in sight: on a narrow screen the row is wider than the window. */
export function scrollCurrentIntoView(row: HTMLElement | null): void {
  row?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}
