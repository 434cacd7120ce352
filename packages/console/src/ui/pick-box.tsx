import { Combobox } from '@base-ui/react/combobox'
import { Check, ChevronsUpDown, X } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { inputClass } from './field.tsx'

/** Text is searched for after a pause in typing. */
const pauseMs = 250

interface PickBoxProps<T> {
  readonly attributes: {
    readonly id: string
    readonly 'aria-describedby': string
    readonly 'aria-invalid': boolean | undefined
  }
  readonly items: readonly T[]
  readonly value: T | null
  readonly keyOf: (item: T) => string
  readonly labelOf: (item: T) => string
  readonly placeholder: string
  readonly clearLabel: string
  /** The line below the items: they are loading, there are none, or there are more. */
  readonly note: ReactNode
  readonly disabled?: boolean
  readonly icon?: (item: T) => ReactNode
  readonly onSearch: (text: string) => void
  readonly onChange: (item: T | null) => void
}

/** A box to pick one of many from, which the service searches. */
export function PickBox<T>(props: PickBoxProps<T>) {
  const { attributes, items, value, keyOf, labelOf, onSearch } = props
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Until the search has answered, Enter must not pick anything but the typed text.
  const [typed, setTyped] = useState('')
  return (
    <Combobox.Root<T>
      items={items.filter(item => labelOf(item).toLowerCase().includes(typed.toLowerCase()))}
      value={value}
      disabled={props.disabled === true}
      itemToStringLabel={labelOf}
      isItemEqualToValue={(item, other) => keyOf(item) === keyOf(other)}
      filter={null}
      autoHighlight
      onValueChange={item => props.onChange(item)}
      onInputValueChange={(text, { reason }) => {
        // The label of the picked item is no search.
        const search = reason === 'input-change' ? text.trim() : ''
        setTyped(search)
        clearTimeout(pause.current)
        pause.current = setTimeout(() => onSearch(search), pauseMs)
      }}
    >
      <div className="relative">
        <Combobox.Input
          {...attributes}
          placeholder={props.placeholder}
          className={`${inputClass} h-8 pr-14 max-lg:h-9`}
        />
        <div className="absolute inset-y-0 right-1 flex items-center">
          <Combobox.Clear
            aria-label={props.clearLabel}
            className="grid size-6 place-items-center rounded text-ink-3 hover:bg-hover hover:text-ink"
          >
            <X className="size-3.5" aria-hidden />
          </Combobox.Clear>
          <Combobox.Trigger
            aria-label={props.placeholder}
            className="grid size-6 place-items-center rounded text-ink-3 hover:bg-hover hover:text-ink"
          >
            <ChevronsUpDown className="size-3.5" aria-hidden />
          </Combobox.Trigger>
        </div>
      </div>
      <Combobox.Portal>
        <Combobox.Positioner sideOffset={4} className="z-40">
          <Combobox.Popup className="max-h-[min(20rem,var(--available-height))] w-(--anchor-width) overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-float outline-none">
            <Combobox.List>
              {(item: T) => (
                <Combobox.Item
                  key={keyOf(item)}
                  value={item}
                  className="flex min-h-8 items-center gap-2 rounded-md px-2 text-[0.8125rem] outline-none data-highlighted:bg-selected max-lg:min-h-10"
                >
                  {props.icon?.(item)}
                  <span className="min-w-0 flex-1 truncate">{labelOf(item)}</span>
                  <Combobox.ItemIndicator>
                    <Check className="size-3.5 text-accent" aria-hidden />
                  </Combobox.ItemIndicator>
                </Combobox.Item>
              )}
            </Combobox.List>
            <Combobox.Status className="px-2 text-xs text-ink-3 not-empty:py-1.5">{props.note}</Combobox.Status>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  )
}
