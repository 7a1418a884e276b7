/* Two frequencies of the first processor of qemu's machine q35, for libbpf's cpufreq (ACPI 6.5, 8.4.5): Linux sets one
   by writing its number to a port, and finds it by reading that. The port is the scratch register of the first serial
   line, which keeps what is written. */
DefinitionBlock ("", "SSDT", 1, "SONDE", "CPUFREQ", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x3FF) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x3FF) }
        })
        /* MHz, mW, latencies in microseconds, what is written and what is read. */
        Name (_PSS, Package ()
        {
            Package () { 2000, 10000, 10, 10, 0, 0 },
            Package () { 1000, 5000, 10, 10, 1, 1 }
        })
        Name (_PPC, 0)
    }
}
