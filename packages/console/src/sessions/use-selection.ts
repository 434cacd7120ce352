import { useEffect, useState } from 'react'
import { singleKeyOf } from '../shell/single-key.ts'

/** The rows that a person has selected, and the functions that change them. */
export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly clear: () => void
  readonly all: () => void
  /** Selects a row, or no longer. With `range` every row from the last one that was selected to this one. */
  readonly toggle: (id: string, range: boolean) => void
}

/**
 * Keeps which rows of a list are selected. A row that has left the list is not: nothing happens to a row that is out of sight.
 *
 * @param listed the rows, in the order in which they stand
 */
export function useSelection(listed: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [anchor, setAnchor] = useState<string | null>(null)
  const ids = new Set(listed.filter(id => chosen.has(id)))
  const clear = () => setChosen(new Set())
  const some = ids.size > 0
  useEffect(() => {
    if (!some) return
    const onKey = (event: KeyboardEvent) => singleKeyOf(event) === 'Escape' && setChosen(new Set())
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [some])
  return {
    ids,
    clear,
    all: () => setChosen(new Set(listed)),
    toggle(id, range) {
      setAnchor(id)
      const [from, to] = [listed.indexOf(anchor ?? id), listed.indexOf(id)].sort((a, b) => a - b)
      if (range && from !== undefined && from >= 0) {
        return setChosen(new Set([...ids, ...listed.slice(from, (to ?? from) + 1)]))
      }
      setChosen(ids.has(id) ? ids.difference(new Set([id])) : new Set([...ids, id]))
    },
  }
}
