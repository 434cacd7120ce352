import { expect, test } from 'vitest'
import { inRanges, isPublicAddress } from './public-address.ts'

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
]
const publicSixes = ['2606:4700:4700::1111', '2a00:1450:4001::1', '2001:200::1', '2620:fe::fe', '2001:4860:4860::8888']

test.each([...publicAddresses, ...publicSixes])('%s is public', address => {
  expect(isPublicAddress(address)).toBe(true)
})

/** Each range, by its first and last address or by one inside it. */
const closed: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  shared: ['100.64.0.0', '100.127.255.255', '100.100.100.200'],
  'link-local': ['169.254.0.0', '169.254.169.254', '169.254.170.2', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  "clouds' own": ['168.63.129.16', 'fd00:ec2::254', '192.0.0.192'],
  protocols: ['192.0.0.1', '192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff:ffff::1'],
  benchmarking: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.255'],
  unspecified: ['::'],
  'IPv4 within IPv6': [
    '::127.0.0.1',
    '::7f00:1',
    '::8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:0:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  ],
  'not handed out': [
    '100::1',
    '100:0:0:1::1',
    '1::1',
    '1fff::1',
    '4000::1',
    '5f00::1',
    '3ffe::1',
    'fc00::1',
    'fec0::1',
  ],
  'special in 2001::/23': ['2001:1::1', '2001:3::1', '2001:4:112::1', '2001:10::1', '2001:20::1', '2001:1ff::1'],
  'special elsewhere': ['2620:4f:8000::1'],
}

test.each(Object.entries(closed))('addresses of %s are not public', (_, addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([])
})

test.each([
  [
    'a non-canonical spelling of an address',
    ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '08.8.8.8', '8.8.2056', '0x8.8.8.8'],
  ],
  [
    'text that is no address',
    ['', 'localhost', 'example.com', '8.8.8.8:80', '[2606:4700::1]', ' 8.8.8.8', '8.8.8.8\n', '2606:4700::1%eth0'],
  ],
])('%s is not public', (_, texts) => {
  expect(texts.filter(isPublicAddress)).toEqual([])
})

test('ranges match only addresses of their own family', () => {
  const judge = inRanges(['198.51.100.0/24', '2606:4700::/32'])
  expect(['198.51.100.0', '198.51.100.255', '2606:4700::1'].map(judge)).toEqual([true, true, true])
  expect(['198.51.101.0', '2606:4701::1', '8.8.8.8'].map(judge)).toEqual([false, false, false])
  expect(() => inRanges(['nothing'])).toThrow()
})
