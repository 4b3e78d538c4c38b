"""The texts of an SSP archive as another tool could write it."""

from __future__ import annotations

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="1.0" name="foreign"
 xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
 xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
 xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
 xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues">"""

# Two systems in each other, connections through their connectors and drawn from either side, parameters everywhere.
FOREIGN = (
    HEAD
    + """
<ssd:System name="top">
  <ssd:ParameterBindings>
    <ssd:ParameterBinding source="resources/values.ssv"/>
  </ssd:ParameterBindings>
  <ssd:Elements>
    <ssd:Component name="source" source="resources/lag_deg.fmu">
      <ssd:Connectors><ssd:Connector name="u" kind="input"/><ssd:Connector name="y" kind="output"/></ssd:Connectors>
    </ssd:Component>
    <ssd:System name="inner">
      <ssd:Connectors><ssd:Connector name="in" kind="input"/></ssd:Connectors>
      <ssd:Elements>
        <ssd:Component name="sink" source="resources/lag_rad.fmu" type="application/x-fmu-sharedlibrary">
          <ssd:Connectors><ssd:Connector name="u" kind="input"/></ssd:Connectors>
          <ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>
            <ssv:ParameterSet version="1.0" name="p"><ssv:Parameters>
              <ssv:Parameter name="time_constant"><ssv:Real value="250" unit="ms"/></ssv:Parameter>
            </ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>
            <ssd:ParameterMapping><ssm:ParameterMapping version="1.0">
              <ssm:MappingEntry source="time_constant" target="T">
                <ssc:LinearTransformation factor="2"/>
              </ssm:MappingEntry>
            </ssm:ParameterMapping></ssd:ParameterMapping>
          </ssd:ParameterBinding></ssd:ParameterBindings>
        </ssd:Component>
      </ssd:Elements>
      <ssd:Connections>
        <ssd:Connection startElement="sink" startConnector="u" endConnector="in"/>
      </ssd:Connections>
    </ssd:System>
  </ssd:Elements>
  <ssd:Connections>
    <ssd:Connection startElement="source" startConnector="y" endElement="inner" endConnector="in">
      <ssc:LinearTransformation factor="3"/>
    </ssd:Connection>
    <ssd:Connection startConnector="free" endElement="source" endConnector="u"/>
  </ssd:Connections>
</ssd:System>
<ssd:DefaultExperiment stopTime="2.5"/>
</ssd:SystemStructureDescription>"""
)
VALUES = """<ssv:ParameterSet version="1.0" name="v" xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
 xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"><ssv:Parameters>
 <ssv:Parameter name="source.u"><ssv:Real value="1" unit="turn_of_wheel"/></ssv:Parameter></ssv:Parameters>
 <ssv:Units><ssc:Unit name="turn_of_wheel"><ssc:BaseUnit rad="1" factor="6.283185307179586"/></ssc:Unit></ssv:Units>
</ssv:ParameterSet>"""
